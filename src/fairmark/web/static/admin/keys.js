// A page that a form was sent to is not to send it again when it is reloaded: that would make another key.
history.replaceState(null, "", location.href);
