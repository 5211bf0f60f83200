/**
 * Normalizes the spellings of a customer's identity that clients send (contract 4, common rules).
 *
 * camelCase wins over snake_case, and both win over the nested legacy object `customer: { id | customerId |
 * customer_id, name, email, friendlyName, stripeCustomerId, userId, userName, userEmail }`.
 */

/** The names of each field inside the legacy object; its own camelCase and snake_case names come in addition. */
const NESTED_NAMES = {
  customerId: ['id'],
  customerName: ['name'],
  customerEmail: ['email'],
  customerFriendlyName: ['friendlyName', 'friendly_name'],
  stripeCustomerId: [],
  customerUserId: ['userId', 'user_id'],
  customerUserName: ['userName', 'user_name'],
  customerUserEmail: ['userEmail', 'user_email'],
} as const;

/** Every member of a body that can identify a customer. */
export const IDENTITY_FIELDS: ReadonlySet<string> = new Set([
  'customer',
  ...Object.keys(NESTED_NAMES).flatMap((field) => [field, toSnakeCase(field)]),
]);

/** For `z.preprocess`: a body with its identity in camelCase at the top. Anything but an object passes unchanged. */
export function resolveIdentity(body: unknown): unknown {
  if (!isRecord(body)) return body;
  const nested = isRecord(body.customer) ? body.customer : {};
  const resolved: Record<string, unknown> = { ...body };
  for (const [field, names] of Object.entries(NESTED_NAMES)) {
    const snake = toSnakeCase(field);
    const candidates = [body[field], body[snake], ...[...names, field, snake].map((name) => nested[name])];
    const found = candidates.find((candidate) => candidate !== undefined && candidate !== null);
    if (found !== undefined) resolved[field] = found;
  }
  return resolved;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
