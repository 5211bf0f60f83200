/**
 * The commands for changes that D1 refused: list them, and queue them again.
 */
import type { CustomerSetAside, ListSetAsideCommand } from '../../../src/objects/customer-commands.ts';
import type { Context } from './context.ts';

export function listSetAside(
  { store }: Context,
  { organizationId, afterPlace, rowsMax }: ListSetAsideCommand,
): CustomerSetAside | null {
  const account = store.account();
  if (account?.organizationId !== organizationId) return null;
  return { customerId: account.customerId, changes: store.setAside.list(afterPlace, rowsMax) };
}

/** Returns the number of rows that are queued again. */
export function resendSetAside({ store, nowMs }: Context, organizationId: string): number {
  return store.transaction(nowMs, () =>
    store.account()?.organizationId === organizationId ? store.resendSetAside(nowMs) : 0,
  );
}
