"""Text out of rows and JSON: templates, messages, conversations, Handlebars."""
