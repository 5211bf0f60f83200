/**
 * An event of the log as a sentence: "Premium calls 500 → 600 on Pro (version 3)". Pure, and exhaustive over all
 * operator actions. The view adds actor and time.
 *
 * `before` and `after` were stored by this release or an earlier one, so the code assumes nothing about their members.
 */
import type { LoggedEvent } from '../contract/operator.ts';
import { isOperatorAction, type OperatorAction } from '../contract/operator-actions.ts';
import { planVersionIdOf } from '../domain/plan.ts';
import { enumerated, type Mention, type MentionKind, type Part, sentence } from '../events/sentence.ts';
import { calendarDay, count, plural, words } from '../ui/format.ts';
import { type Customers, customerSentence } from './change-sentence-customers.ts';
import { changedFields } from './changed-fields.ts';
import { fieldLabel, fieldValue, isRecord, itemText, lowerFirst } from './field-words.ts';
import { asState, instantText, list, numberAt, type State, textAt } from './stored-state.ts';

/** The most changed fields, and the most names of a list, in a sentence. */
const FIELDS_SHOWN_MAX = 3;
const NAMES_SHOWN_MAX = 4;
/** Fields that identify a thing, or only repeat the time or the actor of a change. */
const SILENT = /^(keyId|webhookId|prefix|hint|createdAt|updatedAt|lastUsedAt|rotatedTo|registeredBy|disabled(\..*)?)$/;

export function changeSentence(event: LoggedEvent): Part[] {
  return isOperatorAction(event.action)
    ? sentenceFor(event, event.action)
    : sentence`${words(event.action)}: ${event.subject}`;
}

function sentenceFor(event: LoggedEvent, action: OperatorAction): Part[] {
  const { subject } = event;
  const [before, after] = [asState(event.before), asState(event.after)];
  const isNew = event.before === null;
  const own = (kind: MentionKind, state: State = after, member = 'name'): Mention => ({
    kind,
    id: subject,
    name: textAt(state, member),
  });
  switch (action) {
    case 'organization.create':
      return sentence`Created the organization ${own('organization')}`;
    case 'organization.update':
      return updated(before, after, own('organization'));
    case 'outbox.resend':
      return sentence`Sent ${plural(numberAt(after, 'rows') ?? 0, 'refused change')} of ${plural(numberAt(after, 'customers') ?? 0, 'customer')} to the database again`;
    case 'stripe_customer.release':
      return sentence`Took the Stripe customer ${textAt(after, 'stripeCustomerId') ?? ''} from ${plural(numberAt(after, 'customers') ?? 0, 'customer')}`;

    case 'plan.put':
      return planSaved(subject, before, after, isNew);
    case 'plan.archive':
      return sentence`Archived the plan ${own('plan')}`;
    case 'plan.restore':
      return sentence`Restored the plan ${own('plan')}`;
    case 'plan.migrate':
      return migrationStarted(subject, after);

    case 'key.create':
      return sentence`Created the API key ${own('key')} ${scopesText(after)}`;
    case 'key.rotate':
      return sentence`Rotated the API key ${own('key')}: the old one works until ${instantText(after, 'expiresAt')}, ${{ kind: 'key', id: textAt(after, 'rotatedTo') ?? subject, name: 'the new one' }} replaces it`;
    case 'key.update':
      return updated(before, after, own('key'), 'the API key ');
    case 'key.revoke':
      return sentence`Revoked the API key ${own('key')}`;

    case 'webhook.put':
      return isNew
        ? sentence`Added the webhook ${own('webhook', after, 'host')} for ${after.types === null ? 'all events' : fieldValue('types', after.types)}`
        : updated(before, after, own('webhook', after, 'host'), 'the webhook ');
    case 'webhook.delete':
      return sentence`Deleted the webhook ${textAt(before, 'host') ?? subject}`;
    case 'webhook.rotate':
      return sentence`Rotated the secret of the webhook ${own('webhook', after, 'host')}: the old one works until ${instantText(after, 'previousSecretUntil')}`;
    case 'webhook.test':
      return sentence`Tested the webhook ${own('webhook')}: ${after.delivered === true ? 'delivered' : 'not delivered'}${answered(after)}`;
    case 'webhook.replay':
      return sentence`Sent the events from ${instantText(after, 'from')} to ${instantText(after, 'to')} again to the webhook ${own('webhook')}`;
    case 'webhook.send_again':
      return sentence`Sent ${{ kind: 'alert', id: textAt(after, 'eventId') ?? '', name: 'an event' }} again to the webhook ${own('webhook')}`;
    case 'webhook.disable':
      return sentence`Disabled the webhook ${own('webhook')}: ${after.reason === 'GONE' ? 'it answered 410' : 'it failed for five days'}`;

    case 'models.put':
      return mapped(before, after);
    case 'models.delete':
      return sentence`Removed all model mappings`;
    case 'models.switch':
    case 'models.switch_back':
      return switched(before, after);

    case 'price.put':
      return isNew
        ? sentence`Set the own price of ${model(subject)}: ${ratesText(after)}`
        : updated(before, after, model(subject), 'the own price of ');
    case 'price.delete':
      return sentence`Removed the own price of ${model(subject)}`;
    case 'calls.reprice':
      return repriced(after);

    case 'vendor.put':
      return isNew
        ? sentence`Added the vendor ${own('vendor')} at ${textAt(after, 'baseUrl') ?? ''}`
        : vendorChanged(before, after, own('vendor'));
    case 'vendor.delete':
      return sentence`Removed the vendor ${subject}`;

    case 'sampling.put':
      return updated(before, after, 'the sampling policy');
    case 'sampling.delete':
      return sentence`Removed the sampling policy: no calls are kept`;
    case 'sample.delete':
      return sentence`Deleted a stored sample of ${instantText(before, 'receivedAt')}`;
    case 'compression_profile.put':
      return updated(before, after, 'the compression profile');
    case 'compression_job.start':
      return sentence`Started ${{ kind: 'estimate', id: textAt(after, 'jobId') ?? '', name: 'an estimate' }} of what compression saves`;

    case 'catalog.publish':
      return sentence`Published the catalog ${subject}${catalogChanges(after)}`;
    case 'catalog.upstream_held':
      return sentence`Did not publish an imported catalog`;
    case 'catalog.upstream_failed':
      return sentence`Could not import a catalog`;
    case 'catalog.news':
      return catalogNewsSentence(after);
    case 'catalog.news_failed':
      return sentence`Could not read ${plural(list(after.lists).length, 'list')} of models`;
    case 'review.put':
      return sentence`Reviewed ${model(subject)}: replaced by ${model(textAt(after, 'replacementModelKey') ?? '')}`;
    case 'review.delete':
      return sentence`Took back the review of ${model(subject)}`;

    case 'operator.put':
      return isNew
        ? sentence`Gave ${own('operator')} the role ${textAt(after, 'role') ?? ''}`
        : sentence`Changed the role of ${own('operator')} from ${textAt(before, 'role') ?? ''} to ${textAt(after, 'role') ?? ''}`;
    case 'operator.delete':
      return sentence`Removed the operator ${subject}`;
    default:
      return customerSentence(action satisfies Customers, { subject, before, after });
  }
}

/** For example "Call retention 400 days → 30 days on Acme". */
function updated(before: State, after: State, thing: Part, article = ''): Part[] {
  const changes = differences(before, after);
  return changes.length === 0
    ? sentence`Saved ${article}${thing} without a change`
    : sentence`${changes} on ${article}${thing}`;
}

/** For example "Premium calls 500 → 600, price $20.00 → $25.00 and 2 more fields". */
function differences(before: State, after: State): Part[] {
  const changed = changedFields(before, after).filter(({ field }) => !SILENT.test(field));
  const shown = changed.slice(0, FIELDS_SHOWN_MAX).map((change, index) => {
    const label = fieldLabel(change.field);
    return difference(index === 0 ? label : lowerFirst(label), change);
  });
  const more = changed.length - shown.length;
  return enumerated([...shown, ...(more > 0 ? [[plural(more, 'more field')]] : [])]);
}

type Changed = ReturnType<typeof changedFields>[number];

function difference(label: string, { field, before, after }: Changed): Part[] {
  if (field === 'defaultPlanId') return sentence`${label} ${planOrNone(before)} → ${planOrNone(after)}`;
  if (!Array.isArray(before) || !Array.isArray(after))
    return [`${label} ${fieldValue(field, before)} → ${fieldValue(field, after)}`];
  const [old, now] = [before, after].map((values) => values.map((value) => itemText(field, value))) as [
    string[],
    string[],
  ];
  const added = now.filter((name) => !old.includes(name));
  const removed = old.filter((name) => !now.includes(name));
  const changes = [
    ...(added.length > 0 ? [`added ${shortList(added)}`] : []),
    ...(removed.length > 0 ? [`removed ${shortList(removed)}`] : []),
  ];
  return [`${label}: ${changes.join(', ') || 'in another order'}`];
}

const planOrNone = (id: unknown): Part => (typeof id === 'string' ? { kind: 'plan', id } : 'none');

function shortList(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN_MAX;
  return more > 0 ? `${names.slice(0, NAMES_SHOWN_MAX).join(', ')} and ${count(more)} more` : names.join(', ');
}

const model = (id: string): Mention => ({ kind: 'model', id, name: id });

function planSaved(planId: string, before: State, after: State, isNew: boolean): Part[] {
  const [old, now] = [asState(before.plan), asState(after.plan)];
  const version = numberAt(after, 'version') ?? 1;
  const plan: Mention = { kind: 'plan', id: planId, name: textAt(now, 'name') };
  const named: Mention = { kind: 'version', id: planVersionIdOf(planId, version), name: `version ${version}` };
  if (isNew) return sentence`Created the plan ${plan} (${named})`;
  return sentence`${updated(old, now, plan)} (${named})`;
}

function migrationStarted(planId: string, after: State): Part[] {
  const version = textAt(after, 'usagePlanVersionId') ?? '';
  const job: Mention = { kind: 'migration', id: textAt(after, 'jobId') ?? '', of: planId, name: 'Began to move' };
  const when = after.when === 'AT_NEXT_REPLENISH' ? 'at the next renewal of each' : 'at once';
  return sentence`${job} the customers of ${{ kind: 'plan', id: planId }} to ${{ kind: 'version', id: version }}, ${when}`;
}

function scopesText(key: State): string {
  if (!Array.isArray(key.scopes)) return 'with the scopes of its prefix';
  return key.scopes.length === 0 ? 'without scopes' : `with ${shortList(key.scopes.map(String))}`;
}

function answered(after: State): string {
  const status = numberAt(after, 'answerStatus');
  return status === undefined ? '' : `, answered ${status}`;
}

/** Mappings by name: the tiers, then the aliases. */
function mappingsByName(state: State): State {
  const { aliases, ...tiers } = state;
  return { ...tiers, ...asState(aliases) };
}

function mapped(before: State, after: State): Part[] {
  const [old, now] = [mappingsByName(before), mappingsByName(after)];
  const changed = changedFields(old, now);
  if (changed.length === 0) return sentence`Saved the model mappings without a change`;
  const named = (value: unknown): Part[] => enumerated(list(value).map((entry) => [model(itemText('', entry))]));
  const shown = changed
    .slice(0, FIELDS_SHOWN_MAX)
    .map(({ field, after: value }) =>
      list(value).length === 0 ? sentence`${field} to nothing` : sentence`${field} to ${named(value)}`,
    );
  const more = changed.length - shown.length;
  return sentence`Mapped ${enumerated([...shown, ...(more > 0 ? [[plural(more, 'more name')]] : [])])}`;
}

function switched(before: State, after: State): Part[] {
  const [from, to] = [before, after].map(({ entry }) => model(itemText('', entry ?? ''))) as [Mention, Mention];
  return sentence`Replaced ${from} by ${to} in the mapping ${textAt(after, 'mapping') ?? ''}`;
}

function ratesText(rates: State): string {
  return Object.entries(rates)
    .filter(([name]) => name !== 'components')
    .map(([name, value]) => `${lowerFirst(fieldLabel(name))} ${fieldValue(name, value)}`)
    .concat(Array.isArray(rates.components) ? [plural(rates.components.length, 'component')] : [])
    .join(', ');
}

function repriced(after: State): Part[] {
  const of = textAt(after, 'modelKey');
  const calls = of === undefined ? ['all calls without a price'] : sentence`the calls of ${model(of)} without a price`;
  const span = `from ${instantText(after, 'from')} to ${instantText(after, 'to')}`;
  return after.dryRun === true
    ? sentence`Counted what pricing ${calls} would change, ${span}`
    : sentence`Began to price ${calls}, ${span}`;
}

/** Describes a saved vendor. The log does not hold the key, so a vendor without other changes may have a new one. */
function vendorChanged(before: State, after: State, vendor: Mention): Part[] {
  const changes = differences(before, after);
  return changes.length === 0
    ? sentence`Saved the vendor key of ${vendor} again`
    : sentence`${changes} on the vendor ${vendor}`;
}

const CATALOG_CHANGES = [
  ['added', 'added'],
  ['removed', 'removed'],
  ['repriced', 'with another price'],
  ['lifecycle', 'with other dates or replacements'],
  ['other', 'with other facts'],
] as const;

function catalogChanges(after: State): string {
  const differs = asState(after.differences);
  const counted = CATALOG_CHANGES.flatMap(([member, text]) => {
    const models = list(differs[member]);
    return models.length === 0 ? [] : [`${count(models.length)} ${text}`];
  });
  return counted.length === 0 ? '' : `: ${counted.join(', ')}`;
}

/**
 * For example "Heard that claude-opus-4-5 ends on 22 Jan 2027, of 1 model and 2 prices that the catalog does not have".
 */
function catalogNewsSentence(after: State): Part[] {
  const [ends, missing, prices] = ['ends', 'missing', 'prices'].map((member) => list(after[member]).map(asState)) as [
    State[],
    State[],
    State[],
  ];
  const named = ends
    .slice(0, NAMES_SHOWN_MAX)
    .map(
      (end) =>
        sentence`that ${model(textAt(end, 'modelKey') ?? '')} ends on ${calendarDay(textAt(end, 'shutdownAt') ?? '')}`,
    );
  const counted = [
    [ends.length - named.length, 'more end'],
    [missing.length, 'unknown model'],
    [prices.length, 'other price'],
  ] as const;
  const others = counted.flatMap(([value, noun]) => (value > 0 ? [[`of ${plural(value, noun)}`]] : []));
  return sentence`Heard ${enumerated([...named, ...others])}`;
}

/** The reason in the operator's own words. The service's own reasons are codes, which its sentences explain. */
export function statedReason({ action, after }: LoggedEvent): string | undefined {
  return action === 'webhook.disable' ? undefined : textAt(asState(after), 'reason');
}

/** Every changed field of an event, in words. */
export function changedFieldTexts({
  action,
  before,
  after,
}: LoggedEvent): { label: string; before: string; after: string }[] {
  const inner = (state: unknown) => (action === 'plan.put' && isRecord(state) ? state.plan : state);
  return changedFields(inner(before), inner(after))
    .filter(({ field }) => !SILENT.test(field))
    .map(({ field, ...values }) => ({
      label: field === '' ? 'All' : fieldLabel(field),
      before: fieldValue(field, values.before),
      after: fieldValue(field, values.after),
    }));
}
