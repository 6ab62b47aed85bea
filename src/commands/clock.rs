//! The time, which `SOURCE_DATE_EPOCH` may set (reproducible-builds.org).

use time::OffsetDateTime;

use super::failure::Failure;

/// `SOURCE_DATE_EPOCH`, or the clock's time.
pub fn now() -> Result<OffsetDateTime, Failure> {
    let refused = || Failure::Usage("SOURCE_DATE_EPOCH is no number of seconds since 1970".to_owned());
    let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") else {
        return Ok(OffsetDateTime::now_utc());
    };
    let seconds = text.parse().map_err(|_| refused())?;
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| refused())
}
