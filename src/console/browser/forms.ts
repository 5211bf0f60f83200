/**
 * A submitted form waits for its answer and is not sent twice. If the session has ended, or the server cannot be
 * reached, nothing is sent and the typed text stays.
 */
import { SESSION_PATH } from '../paths.ts';
import { hasEnded, read, signIn } from './session.ts';

/** After this time a form may be sent again, because an answer that is a download does not replace the page. */
const PENDING_MS_MAX = 10_000;

/** Forms whose session was checked and that are not sent yet. */
const checked = new WeakSet<HTMLFormElement>();

export function checkForms(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement;
    if (form.method !== 'post' || !form.elements.namedItem('csrf')) return;
    if ('pending' in form.dataset) return event.preventDefault();
    form.dataset.pending = '';
    form.setAttribute('aria-busy', 'true');
    for (const button of form.querySelectorAll('button')) button.setAttribute('aria-disabled', 'true');
    if (checked.delete(form)) {
      setTimeout(() => settle(form), PENDING_MS_MAX);
      return;
    }
    event.preventDefault();
    void check(form, event.submitter);
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const form of document.querySelectorAll<HTMLFormElement>('form[data-pending]')) settle(form);
  });
}

/** Sends the form with the session's current CSRF token, if the session has not ended. */
async function check(form: HTMLFormElement, submitter: HTMLElement | null): Promise<void> {
  const answer = await read(SESSION_PATH).catch(() => null);
  if (answer && hasEnded(answer)) {
    const rest = ', then send this form again: what you typed is still here.';
    return refuse(form, 'Your session has ended, and nothing was sent. ', signIn(), rest);
  }
  const session: { csrf: string } | null = answer?.ok ? await answer.json().catch(() => null) : null;
  if (!session)
    return refuse(form, 'The server cannot be reached, and nothing was sent. Try again: what you typed is still here.');
  for (const field of document.querySelectorAll<HTMLInputElement>('input[name="csrf"]')) field.value = session.csrf;
  checked.add(form);
  delete form.dataset.pending;
  form.requestSubmit(submitter?.isConnected ? submitter : null);
}

function refuse(form: HTMLFormElement, ...words: (string | Node)[]): void {
  settle(form);
  notice(form).replaceChildren(...words);
}

function settle(form: HTMLFormElement): void {
  delete form.dataset.pending;
  form.removeAttribute('aria-busy');
  for (const button of form.querySelectorAll('button')) button.removeAttribute('aria-disabled');
}

/** The notice of a form, created on its first use. */
function notice(form: HTMLFormElement): Element {
  const known = form.querySelector('[data-notice]');
  if (known) return known;
  const made = document.createElement('div');
  made.className = 'notice bad';
  made.setAttribute('role', 'alert');
  made.dataset.notice = '';
  form.prepend(made);
  return made;
}
