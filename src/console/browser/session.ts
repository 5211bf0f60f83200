/**
 * Requests of the console's script. If the session has ended, the server redirects to the sign-in page. The script does
 * not follow, so that the page stays as it is.
 */
import { CONSOLE_PATH } from '../paths.ts';

export function read(address: string): Promise<Response> {
  return fetch(address, { redirect: 'manual', headers: { Accept: 'text/html' } });
}

export function hasEnded(answer: Response): boolean {
  return answer.type === 'opaqueredirect';
}

export async function parse(answer: Response): Promise<Document> {
  return new DOMParser().parseFromString(await answer.text(), 'text/html');
}

/** A link to the sign-in page, which opens in another tab. */
export function signIn(): HTMLAnchorElement {
  const link = document.createElement('a');
  link.href = CONSOLE_PATH;
  link.target = '_blank';
  link.textContent = 'Sign in in a new tab';
  return link;
}
