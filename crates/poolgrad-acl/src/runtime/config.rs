//! The configuration file of `aclInit`: JSON, of which two keys are looked at.

use std::fmt;

/// What the file asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// `"err_msg_mode": "1"`: all threads share their messages.
    pub(crate) shares_messages: bool,
    /// `"defaultDevice": {"default_device": "0"}`: the device of threads that set none.
    pub(crate) default_device: Option<i32>,
}

/// Why a file is no configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigError {
    /// It is not JSON, from this byte on.
    Syntax(usize),
    /// A key has a value that it cannot have; the text says which.
    Value(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(at) => write!(f, "byte {at} cannot stand there"),
            Self::Value(text) => f.write_str(text),
        }
    }
}

/// A JSON value, as far as a configuration needs it.
#[derive(Clone, Debug, PartialEq)]
enum Json {
    /// A string, number, `true`, `false` or `null`, as its text.
    Scalar(String),
    List,
    Object(Vec<(String, Json)>),
}

impl Config {
    /// Reads a file's text; an empty one asks for nothing.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, ConfigError> {
        if text.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let root = parser.value()?;
        parser.skip_space();
        if parser.at < text.len() || !matches!(root, Json::Object(_)) {
            return Err(ConfigError::Syntax(parser.at));
        }
        let shares_messages = match root.get("err_msg_mode") {
            None => false,
            Some(Json::Scalar(mode)) if mode == "0" => false,
            Some(Json::Scalar(mode)) if mode == "1" => true,
            Some(_) => return Err(ConfigError::Value("err_msg_mode must be \"0\" or \"1\"".into())),
        };
        let default_device = match root.get("defaultDevice").and_then(|object| object.get("default_device")) {
            None => None,
            Some(Json::Scalar(device)) => Some(device.parse().map_err(|_| {
                ConfigError::Value(format!("default_device must be the number of a device, got {device}"))
            })?),
            Some(_) => return Err(ConfigError::Value("default_device must be the number of a device".into())),
        };
        Ok(Self { shares_messages, default_device })
    }
}

impl Json {
    fn get(&self, key: &str) -> Option<&Json> {
        let Json::Object(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

/// Deeper nesting than this is no configuration; the bound keeps the recursion small.
const DEEPEST: usize = 64;

impl Parser<'_> {
    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn wrong<T>(&self) -> Result<T, ConfigError> {
        Err(ConfigError::Syntax(self.at))
    }

    fn expect(&mut self, byte: u8) -> Result<(), ConfigError> {
        if self.peek() != Some(byte) {
            return self.wrong();
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self) -> Result<Json, ConfigError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong();
        }
        let value = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.list()?,
            Some(b'"') => Json::Scalar(self.string()?),
            _ => self.word()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Json, ConfigError> {
        self.expect(b'{')?;
        let mut entries = Vec::new();
        while self.peek() != Some(b'}') {
            if !entries.is_empty() {
                self.expect(b',')?;
                self.skip_space();
            }
            let key = self.string()?;
            self.expect(b':')?;
            entries.push((key, self.value()?));
        }
        self.expect(b'}')?;
        Ok(Json::Object(entries))
    }

    fn list(&mut self) -> Result<Json, ConfigError> {
        self.expect(b'[')?;
        let mut is_first = true;
        while self.peek() != Some(b']') {
            if !is_first {
                self.expect(b',')?;
            }
            is_first = false;
            self.value()?;
        }
        self.expect(b']')?;
        Ok(Json::List)
    }

    /// A string; escapes are kept as they stand, since no key or value that is looked at has any.
    fn string(&mut self) -> Result<String, ConfigError> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.text.get(self.at) {
                None => return self.wrong(),
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        let text = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
        self.at += 1;
        Ok(text)
    }

    fn word(&mut self) -> Result<Json, ConfigError> {
        let rest = &self.text[self.at..];
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
        let len = rest.iter().position(is_end).unwrap_or(rest.len());
        let text = str::from_utf8(&rest[..len]).unwrap_or_default();
        if !matches!(text, "true" | "false" | "null") && text.parse::<f64>().is_err() {
            return self.wrong();
        }
        self.at += len;
        Ok(Json::Scalar(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_read_and_others_are_not() {
        let read = |text: &str| Config::parse(text.as_bytes());
        assert_eq!(read(""), Ok(Config::default()));
        assert_eq!(read(" {} "), Ok(Config::default()));
        let text = r#"{"dump": {"list": [1, -2.5e3, null, {"a": "\""}]}, "err_msg_mode": "1", "x": true}"#;
        assert_eq!(read(text), Ok(Config { shares_messages: true, default_device: None }));
        let text = r#"{"err_msg_mode":"0","defaultDevice":{"default_device":"2"}}"#;
        assert_eq!(read(text), Ok(Config { shares_messages: false, default_device: Some(2) }));
        assert!(matches!(read(r#"{"err_msg_mode": "2"}"#), Err(ConfigError::Value(_))));
        assert!(matches!(read(r#"{"defaultDevice": {"default_device": "x"}}"#), Err(ConfigError::Value(_))));
    }

    #[test]
    fn what_is_not_json_is_refused_where_it_goes_wrong() {
        for (text, at) in [("[]", 2), ("{", 1), ("{\"a\" 1}", 5), ("{\"a\": b}", 6), ("{} x", 3), ("{\"a", 3)] {
            assert_eq!(Config::parse(text.as_bytes()), Err(ConfigError::Syntax(at)), "{text}");
        }
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100), "]".repeat(100));
        assert!(Config::parse(deep.as_bytes()).is_err());
    }
}
