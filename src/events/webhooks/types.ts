/**
 * The types of events that a webhook gets.
 */
import { TEST_EVENT_TYPE } from '../../contract/webhooks.ts';

/** A test is sent, whatever types the webhook gets. */
export function getsType({ types }: { types: readonly string[] | null }, type: string): boolean {
  return types === null || types.includes(type) || type === TEST_EVENT_TYPE;
}
