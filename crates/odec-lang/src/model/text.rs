//! The text form of a checked model, for `odec dump --stage model`.
