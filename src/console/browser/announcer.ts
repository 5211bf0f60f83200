/**
 * What screen readers say of a change that the script made.
 */
export const announcer = document.createElement('p');
announcer.className = 'unseen';
announcer.setAttribute('role', 'status');

export function announce(text: string): void {
  announcer.textContent = text;
}
