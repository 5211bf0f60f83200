/**
 * Announces the script's changes of the page to screen readers.
 */
export const announcer = document.createElement('p');
announcer.className = 'unseen';
announcer.setAttribute('role', 'status');

export function announce(text: string): void {
  announcer.textContent = text;
}
