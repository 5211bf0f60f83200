/**
 * A use case's refusal as a page.
 */
import type { Refusal } from '../contract/errors.ts';
import { pageStatus } from '../http/middleware/error-envelopes.ts';
import { Notice } from '../ui/parts.tsx';
import type { ConsoleContext } from './context.ts';
import { page } from './shell.tsx';

export function refused(c: ConsoleContext, refusal: Refusal) {
  const { code, message } = refusal;
  const status = pageStatus(c, refusal);
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
