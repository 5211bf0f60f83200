/**
 * The parts of a request that a browser's session must not send: a field that is not open to sessions, too many models,
 * or a model that the session was not created for.
 *
 * The session itself decides the customer of a call, its labels and the models that may answer.
 */
import type { Catalog } from '../catalog/model.ts';
import type { OrganizationConfig, Session } from '../config/credentials.ts';
import { isRecord } from '../contract/identity.ts';
import { OpenModels } from '../metering/model-names.ts';
import { endpointAt } from './demand/endpoints.ts';
import type { Members, Rule, TypedMembers } from './demand/rules.ts';
import { DIALECTS } from './dialects/dialects.ts';
import { type GatewayRefusal, type Refused, refuseCall } from './error-envelope.ts';

/** The most models of one request, `model` included. */
const SESSION_MODELS_MAX = 3;

/** A broken rule: the path of the field, and the words of the rule. */
interface Broken {
  path: string;
  rule: string;
}

/** The longest name that a message repeats. */
const NAME_LENGTH_MAX = 100;

const NOT_OPEN = 'must not be sent with a session token';

/**
 * Refuses a request to that route for its first field that is not open to sessions; `null` if all are open. A body that
 * is not an object is left to the schema.
 */
export function closedField(
  route: string,
  body: unknown,
  { vendorOrigins }: OrganizationConfig,
): GatewayRefusal | null {
  if (!isRecord(body)) return null;
  const dialect = Object.values(DIALECTS).find(({ operation }) => operation.path === route);
  const fields = dialect?.takesSessions ? endpointAt(dialect.endpoint)?.fields : undefined;
  const vendorHosts = new Set(vendorOrigins.map((origin) => hostWithoutDot(new URL(origin))));
  const sent = body.feature === '' ? { ...body, feature: null } : body;
  const broken = brokenMember(fields ?? {}, sent, '', vendorHosts);
  if (!broken) return null;
  const param = clipped(broken.path);
  return { code: 'FIELD_NOT_ALLOWED', message: `${param}: ${broken.rule}`, param };
}

/** Refuses more models than a session may name, and a model that the session was not created for. */
export function closedModel(
  organization: OrganizationConfig,
  catalog: Catalog,
  names: readonly string[],
  { models }: Session,
  nowMs: number,
): Refused | null {
  if (names.length > SESSION_MODELS_MAX) {
    const message = `models: a request with a session token names at most ${SESSION_MODELS_MAX} models, model among them`;
    return refuseCall('BAD_REQUEST', message, { param: 'models' });
  }
  if (!models) return null;
  const open = new OpenModels(organization, catalog, models, nowMs);
  const closed = names.findIndex((name) => !open.allowsAll(name));
  if (closed < 0) return null;
  const message = `the session was not created for the model ${clipped(JSON.stringify(names[closed]))}`;
  return refuseCall('MODEL_NOT_ALLOWED', message, { param: closed === 0 ? 'model' : 'models' });
}

function brokenMember(
  members: Members,
  value: Record<string, unknown>,
  path: string,
  vendorHosts: ReadonlySet<string>,
): Broken | null {
  for (const [name, member] of Object.entries(value)) {
    if (member === null) continue;
    const at = path === '' ? name : `${path}.${name}`;
    const rule = Object.hasOwn(members, name) ? members[name] : undefined;
    const broken = rule === undefined ? { path: at, rule: NOT_OPEN } : brokenRule(rule, member, at, vendorHosts);
    if (broken) return broken;
  }
  return null;
}

/** The depth of this recursion is bounded by the rules, which are finite. */
function brokenRule(rule: Rule, value: unknown, path: string, vendorHosts: ReadonlySet<string>): Broken | null {
  if (rule === 'any' || value === null) return null;
  if (typeof rule === 'object') {
    if ('closed' in rule) return { path, rule: `${NOT_OPEN}: ${rule.closed}` };
    if ('bills' in rule) return brokenRule(rule.of, value, path, vendorHosts);
    if ('text' in rule)
      return brokenRule(typeof value === 'object' ? rule.object : rule.text, value, path, vendorHosts);
    if ('only' in rule) return brokenChoice(rule.only, value, path);
  }
  if (rule === 'link')
    return typeof value === 'string' && isOpenLink(value, vendorHosts) ? null : { path, rule: LINK_RULE };
  if (rule === 'content') return typeof value === 'string' && isContent(value) ? null : { path, rule: CONTENT_RULE };
  if (typeof value !== 'object') return null;
  if (rule === 'value') return holdsObject(value) ? { path, rule: NOT_OPEN } : null;
  if (Array.isArray(value))
    return 'list' in rule ? brokenItem(rule.list, value, path, vendorHosts) : { path, rule: NOT_OPEN };
  if ('list' in rule) return { path, rule: NOT_OPEN };
  const members = value as Record<string, unknown>;
  if ('members' in rule) return brokenMember(rule.members, members, path, vendorHosts);
  return brokenType(rule, members, path, vendorHosts);
}

function brokenItem(
  rule: Rule,
  items: readonly unknown[],
  path: string,
  vendorHosts: ReadonlySet<string>,
): Broken | null {
  for (const [index, item] of items.entries()) {
    const broken = brokenRule(rule, item, `${path}.${index}`, vendorHosts);
    if (broken) return broken;
  }
  return null;
}

function brokenType(
  { types, untyped }: Extract<Rule, { types: unknown }>,
  { type, ...members }: Record<string, unknown>,
  path: string,
  vendorHosts: ReadonlySet<string>,
): Broken | null {
  const known = type == null ? untyped : ofName(types, type);
  if (!known || known.closed) {
    const named = type == null ? '' : ` as ${clipped(JSON.stringify(type))}`;
    const open = Object.keys(types).filter((name) => !types[name]?.closed);
    return { path: `${path}.type`, rule: `${NOT_OPEN}${named}; allowed are ${open.join(', ')}` };
  }
  const broken = brokenMember(known.members, members, path, vendorHosts);
  if (broken || known.needs === undefined) return broken;
  const needed = members[known.needs];
  if (typeof needed === 'string' && needed !== '') return null;
  return {
    path: `${path}.${known.needs}`,
    rule: 'must be sent with a session token: without it this names what is stored at the vendor',
  };
}

function ofName(types: Readonly<Record<string, TypedMembers>>, name: unknown): TypedMembers | undefined {
  return typeof name === 'string' && Object.hasOwn(types, name) ? types[name] : undefined;
}

function brokenChoice(only: readonly (string | boolean)[], value: unknown, path: string): Broken | null {
  const chosen = Array.isArray(value) ? value : [value];
  if (chosen.every((choice) => only.includes(choice as string))) return null;
  return { path, rule: `${NOT_OPEN}, except ${only.map((choice) => JSON.stringify(choice)).join(', ')}` };
}

/** Text, numbers and lists of them cannot name anything in an account; an object can. */
function holdsObject(value: object): boolean {
  return !Array.isArray(value) || value.some((item) => typeof item === 'object' && item !== null);
}

const LINK_RULE = 'must be an https or http address, not at a vendor of the organization, or a data: URL';
const CONTENT_RULE = 'must be the content itself, as a data: URL or in base64';

/** An address at a vendor may be a file of the organization's account. */
function isOpenLink(link: string, vendorHosts: ReadonlySet<string>): boolean {
  // Not parsed, because it may be many megabytes.
  if (/^data:/i.test(link)) return true;
  if (!URL.canParse(link)) return false;
  const url = new URL(link);
  return (url.protocol === 'https:' || url.protocol === 'http:') && !vendorHosts.has(hostWithoutDot(url));
}

function isContent(text: string): boolean {
  return /^data:/i.test(text) || !/^\s*[a-z][\w+.-]*:/i.test(text);
}

function clipped(name: string): string {
  return name.length <= NAME_LENGTH_MAX ? name : `${name.slice(0, NAME_LENGTH_MAX)}...`;
}

/** A trailing dot does not change the host that a name means. */
function hostWithoutDot({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}
