/**
 * What a client tells its observer while it works: nothing here changes a result, and an observer that fails is
 * ignored.
 */
import type { CallmeterError } from './errors.ts';
import type { EndCallInput, Hints } from './wire.ts';

export type ClientEvent =
  /** A request failed and is sent again after a wait. */
  | { type: 'retry'; operation: string; attempt: number; delayMs: number; error: CallmeterError }
  /** A call's usage could not be reported, all tries included; `report` can be sent again later with `endCall`. */
  | { type: 'endFailed'; callId: string; report: EndCallInput; error: CallmeterError }
  /** A lower tier was offered for the requested one. */
  | ({ type: 'downgrade'; callId: string } & NonNullable<Hints['downgrade']>);

export type Observer = (event: ClientEvent) => void;

/** An observer that cannot break what it observes, by an exception or by a rejected promise. */
export function shielded(observer: Observer | undefined): Observer {
  return (event) => {
    try {
      const returned: unknown = observer?.(event);
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // What it observes is more important than the observer.
    }
  };
}
