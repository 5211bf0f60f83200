/**
 * The confirmations that a page shows after a successful form. Only the texts listed here are ever shown.
 */
export const DONE: Readonly<Record<string, string>> = {
  organization: 'The organization is created.',
  settings: 'The settings are saved and in force.',
  models: 'The model mappings are saved and in force.',
  price: 'The price is saved and in force.',
  vendor: 'The vendor is saved and in force.',
  plan: 'The plan is saved and in force. Subscriptions keep their version until they are migrated.',
  'plan-same': 'Nothing changed: the newest version has this content already.',
  key: 'The key is saved and in force.',
  revoked: 'The key is revoked: it no longer works anywhere.',
  credit: 'The credit is granted.',
  'credit-revoked': 'What was left of the credit is taken back.',
  reversed: 'The call is reversed. Reports follow after about a second.',
  amended: 'The call is amended. Reports follow after about a second.',
  'increment-reversed': 'The increment is reversed.',
  'plan-changed': 'The plan change stands.',
  canceled: 'The subscription is canceled. Calls are denied until it is reactivated.',
  reactivated: 'The subscription is active again.',
  erased: 'The customer is erased.',
  sampling: 'The sampling policy is saved and in force.',
  sample: 'The sample is deleted.',
  profile: 'The compression profile is saved and in force.',
  published: 'The catalog is published.',
};
