/**
 * The command of the custom meters: an increment.
 */
import { accept, refuse } from '../../../src/contract/errors.ts';
import type { AnswerTo } from '../../../src/contract/operations.ts';
import type { Account } from '../../../src/domain/account.ts';
import { incrementMeter } from '../../../src/domain/custom-meter.ts';
import type { IncrementCommand } from '../../../src/objects/customer-commands.ts';
import { presentIncrement } from '../present.ts';
import { type Context, keyed, liveAccount, noSubscription, storageFull } from './context.ts';
import { queueCharge } from './settlement.ts';

export function increment(context: Context, command: IncrementCommand): AnswerTo<'incrementMeter'> {
  const { store, nowMs } = context;
  return keyed(context, 'custom_meter', command, () => {
    const account = liveAccount(context, command.organizationId);
    if (!account) return noSubscription();
    const { slot, amount } = command.request;
    const recorded = command.idempotencyKey === null ? recordedBefore(context, account, command) : null;
    if (recorded) return recorded;
    if (store.isFull(nowMs)) return storageFull();
    const incremented = incrementMeter(
      account,
      command.request,
      { eventId: command.eventId, chargeId: context.newId() },
      nowMs,
    );
    if (!incremented) {
      const details = [{ path: 'meterSlot', message: `${slot} is not enabled in the customer's plan` }];
      return refuse('METER_NOT_ENABLED', `meterSlot: ${slot} is not enabled in the customer's plan`, {
        members: { details },
      });
    }
    const { event } = incremented;
    store.saveAccount(incremented.account, nowMs);
    store.saveMeterEvent(event, nowMs);
    store.usageHours.addUnits(nowMs, slot, amount);
    const { eventId, charge, stripeCustomerId = null } = event;
    queueCharge(context, { kind: 'meter_event', subjectId: eventId, stripeCustomerId, charge });
    return accept('CUSTOM_METER_SUCCESS', presentIncrement(incremented), nowMs);
  });
}

/** The answer of an event that was recorded already: the service sends a command again where its answer was lost. */
function recordedBefore(
  { store, nowMs }: Context,
  account: Account,
  { eventId, request }: IncrementCommand,
): AnswerTo<'incrementMeter'> | null {
  const event = store.meterEvent(eventId);
  const meter = account.subscription.plan.plan.customMeters[request.slot];
  return event && meter ? accept('CUSTOM_METER_SUCCESS', presentIncrement({ account, event, meter }), nowMs) : null;
}
