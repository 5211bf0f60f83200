/**
 * A use case's refusal as a page.
 */
import { ERROR_STATUS, type Refusal } from '../contract/errors.ts';
import { Notice } from '../ui/parts.tsx';
import type { ConsoleContext } from './context.ts';
import { page } from './shell.tsx';

export function refused(c: ConsoleContext, { code, message }: Refusal) {
  const status = ERROR_STATUS[code];
  const title = status === 404 ? 'Not found' : 'Not done';
  return page(
    c,
    { title, status },
    <Notice tone="bad">
      {sentence(message)} <code>{code}</code>
    </Notice>,
  );
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
