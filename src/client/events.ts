/**
 * Events that a client reports while it works. They never change a result, and an observer that throws is ignored.
 */
import type { CallmeterError } from './errors.ts';
import type { EndCallInput, Hints } from './wire.ts';

export type ClientEvent =
  /** A request failed and will be retried after `delayMs`. */
  | { type: 'retry'; operation: string; attempt: number; delayMs: number; error: CallmeterError }
  /** The end of a call could not be reported, after all attempts. `report` can be sent later with `endCall`. */
  | { type: 'endFailed'; callId: string; report: EndCallInput; error: CallmeterError }
  /** The service suggested a lower tier than requested. */
  | ({ type: 'downgrade'; callId: string } & NonNullable<Hints['downgrade']>);

export type Observer = (event: ClientEvent) => void;

/** Wraps an observer so that an exception or a rejected promise of it has no effect. */
export function shielded(observer: Observer | undefined): Observer {
  return (event) => {
    try {
      const returned: unknown = observer?.(event);
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // Observers must not affect the work that they observe.
    }
  };
}
