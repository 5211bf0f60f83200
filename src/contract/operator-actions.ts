/**
 * The actions of operators and of the service itself, by their names in the event log, and the kind of object that each
 * action changes. The id of that object is the event's `subject`: objects of two kinds may have the same id, so the
 * action decides the kind.
 */

export const SUBJECT_KINDS = [
  'organization',
  'customer',
  'plan',
  'key',
  'webhook',
  'mapping',
  'price',
  'vendor',
  'sampling',
  'sample',
  'compression',
  'catalog',
  'review',
  'operator',
] as const;

export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export const ACTION_KINDS = {
  'organization.create': 'organization',
  'organization.update': 'organization',
  'outbox.resend': 'organization',
  'stripe_customer.release': 'organization',
  'customer.create': 'customer',
  'customer.change_plan': 'customer',
  'customer.replenish': 'customer',
  'customer.cancel': 'customer',
  'customer.reactivate': 'customer',
  'customer.erase': 'customer',
  'credit.grant': 'customer',
  'credit.revoke': 'customer',
  'call.reverse': 'customer',
  'call.amend': 'customer',
  'meter_event.reverse': 'customer',
  'outbox.set_aside': 'customer',
  'plan.put': 'plan',
  'plan.archive': 'plan',
  'plan.restore': 'plan',
  'plan.migrate': 'plan',
  'key.create': 'key',
  'key.rotate': 'key',
  'key.update': 'key',
  'key.revoke': 'key',
  'webhook.put': 'webhook',
  'webhook.delete': 'webhook',
  'webhook.rotate': 'webhook',
  'webhook.test': 'webhook',
  'webhook.replay': 'webhook',
  'webhook.send_again': 'webhook',
  'webhook.disable': 'webhook',
  'models.put': 'mapping',
  'models.delete': 'mapping',
  'models.switch': 'mapping',
  'models.switch_back': 'mapping',
  'price.put': 'price',
  'price.delete': 'price',
  'calls.reprice': 'price',
  'vendor.put': 'vendor',
  'vendor.delete': 'vendor',
  'sampling.put': 'sampling',
  'sampling.delete': 'sampling',
  'sample.delete': 'sample',
  'compression_profile.put': 'compression',
  'compression_job.start': 'compression',
  'catalog.publish': 'catalog',
  'catalog.upstream_held': 'catalog',
  'catalog.upstream_failed': 'catalog',
  'catalog.news': 'catalog',
  'catalog.news_failed': 'catalog',
  'review.put': 'review',
  'review.delete': 'review',
  'operator.put': 'operator',
  'operator.delete': 'operator',
} as const satisfies Record<string, SubjectKind>;

export type OperatorAction = keyof typeof ACTION_KINDS;

export const OPERATOR_ACTIONS = Object.keys(ACTION_KINDS) as [OperatorAction, ...OperatorAction[]];

export function actionsOnKind(kind: SubjectKind): OperatorAction[] {
  return OPERATOR_ACTIONS.filter((action) => ACTION_KINDS[action] === kind);
}

/** A log may contain actions of an earlier release. */
export function isOperatorAction(action: string): action is OperatorAction {
  return Object.hasOwn(ACTION_KINDS, action);
}
