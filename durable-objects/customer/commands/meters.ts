/**
 * The command of the custom meters: an increment.
 */
import type { CustomMeterData } from '../../../src/contract/custom-meter.ts';
import { type Answer, accept, refuse } from '../../../src/contract/errors.ts';
import { incrementMeter } from '../../../src/domain/custom-meter.ts';
import { presentIncrement } from '../present.ts';
import type { IncrementCommand } from '../protocol.ts';
import { type Context, keyed, liveAccount, noSubscription } from './context.ts';
import { queueCharge } from './settlement.ts';

export function increment(context: Context, command: IncrementCommand): Answer<CustomMeterData> {
  const { store, nowMs } = context;
  return keyed(context, 'custom_meter', command, () => {
    const account = liveAccount(context, command.organizationId);
    if (!account) return noSubscription();
    const { slot, amount } = command.request;
    const incremented = incrementMeter(account, command.request, { eventId: context.newId(), chargeId: context.newId() }, nowMs);
    if (!incremented) {
      const details = [{ path: 'meterSlot', message: `${slot} is not enabled in the customer's plan` }];
      return refuse('METER_NOT_ENABLED', `meterSlot: ${slot} is not enabled in the customer's plan`, { members: { details } });
    }
    const { event } = incremented;
    store.saveAccount(incremented.account, nowMs);
    store.saveMeterEvent(event, nowMs);
    store.usageHours.addUnits(nowMs, slot, amount);
    const stripeCustomerId = account.contact.stripeCustomerId ?? null;
    queueCharge(store, { kind: 'meter_event', subjectId: event.eventId, stripeCustomerId, charge: event.charge }, nowMs);
    return accept('CUSTOM_METER_SUCCESS', presentIncrement(incremented), nowMs);
  });
}
