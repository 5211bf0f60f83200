/**
 * A button for each block of code, which copies its text.
 */
import { copyText } from '../../../ui/browser/copy-text.ts';

/** How long the button shows that it has copied. */
const SAID_MS = 2_000;

export function copyButtons(): void {
  for (const block of document.querySelectorAll<HTMLPreElement>('pre.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => void copy(block, button));
    blockFrame(block).append(button);
  }
}

/** The button is in a frame, so that it keeps its position when the text is scrolled. */
function blockFrame(block: HTMLPreElement): HTMLElement {
  if (block.parentElement?.classList.contains('copied')) return block.parentElement;
  const frame = document.createElement('div');
  frame.className = 'copy-frame';
  block.replaceWith(frame);
  frame.append(block);
  return frame;
}

async function copy(block: HTMLPreElement, button: HTMLButtonElement): Promise<void> {
  const copied = await copyText(block.textContent, block);
  button.textContent = copied ? 'Copied' : 'Selected';
  setTimeout(() => {
    button.textContent = 'Copy';
  }, SAID_MS);
}
