/**
 * Runs first in the frame: submits the token from the fragment of the address, and the response replaces the page. A form
 * that is submitted before the page has loaded leaves no history entry.
 */
const token = new URLSearchParams(location.hash.slice(1)).get('token');
history.replaceState(null, '', location.pathname);
const form = document.querySelector('form');
const field = form?.querySelector('input');
const ended = document.getElementById('ended');
if (token && form && field) {
  field.value = token;
  form.submit();
} else if (ended) ended.hidden = false;
