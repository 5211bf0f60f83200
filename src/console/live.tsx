/**
 * Parts of a page for the console's script: regions that it updates, and buttons that copy.
 */
import type { FC, PropsWithChildren } from 'hono/jsx';

interface LiveProps {
  id: string;
  /** Whether the region still changes by itself; if not, the script stops. */
  on?: boolean;
  /** The text that a screen reader announces when the text changes. */
  says?: string;
  /** The text that replaces the region if the page no longer has it. */
  gone?: string;
}

/** A part of a page that the script keeps up to date. */
export const Live: FC<PropsWithChildren<LiveProps>> = ({ id, on = true, says, gone, children }) => (
  <div class="stack" id={id} data-live={on ? '' : undefined} data-says={says} data-gone={gone}>
    {children}
  </div>
);

/** Copies the text of the element with the id. The button is hidden without script. */
export const CopyButton: FC<PropsWithChildren<{ of: string }>> = ({ of, children }) => (
  <button type="button" data-copy={of} hidden>
    {children}
  </button>
);

/** Copies a call id, of which lists show only the beginning and the end. The button is hidden without script. */
export const CopyCallId: FC<{ callId: string }> = ({ callId }) => (
  <button type="button" class="copy" data-copy-text={callId} aria-label="Copy the call id" hidden>
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" />
    </svg>
  </button>
);
