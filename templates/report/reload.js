"use strict";
const { version } = document.documentElement.dataset;
// A server that has ended may come back at the same address.
const isOld = async () => {
  const answer = await fetch("/version", { cache: "no-store" });
  return answer.ok && (await answer.text()) !== version;
};
const ask = async () => {
  if (await isOld().catch(() => false)) location.reload();
  else setTimeout(ask, 500);
};
setTimeout(ask, 500);
