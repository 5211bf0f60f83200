/**
 * Which types of events a webhook gets.
 */
import { TEST_EVENT_TYPE } from '../../contract/webhooks.ts';

/** A test is sent whatever the webhook gets. */
export function getsType({ types }: { types: readonly string[] | null }, type: string): boolean {
  return types === null || types.includes(type) || type === TEST_EVENT_TYPE;
}
