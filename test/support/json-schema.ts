/**
 * Does a value hold a JSON Schema (2020-12)? For the keywords that the OpenAPI document uses; any other is an error, so
 * that nothing is passed over. Independent of the library that wrote the schemas.
 */
type Json = Record<string, unknown>;

const SILENT = new Set(['description', 'default', 'examples', 'title', 'contentMediaType', 'format', 'deprecated']);

/** Every rule that the value breaks, with its path. `resolve` finds the target of a `$ref`. */
export function brokenRules(
  schema: unknown,
  value: unknown,
  resolve: (reference: string) => unknown,
  at = '$',
): string[] {
  if (schema === true) return [];
  if (schema === false) return [`${at}: nothing is allowed here`];
  const check = (part: unknown, what: unknown, where = at) => brokenRules(part, what, resolve, where);
  return Object.entries(schema as Json).flatMap(([keyword, rule]) => {
    if (keyword === '$ref') return check(resolve(rule as string), value);
    if (SILENT.has(keyword)) return [];
    const general = generalRule(keyword, rule, value, check);
    if (general) return general.map((broken) => (broken.startsWith('$') ? broken : `${at}: ${broken}`));
    const special = textRule(keyword, rule, value) ?? numberRule(keyword, rule, value);
    if (special) return special.map((broken) => `${at}: ${broken}`);
    const inner =
      objectRule(keyword, rule, value, schema as Json, at, check) ?? arrayRule(keyword, rule, value, at, check);
    if (!inner) throw new Error(`unknown keyword ${keyword}`);
    return inner;
  });
}

type Check = (part: unknown, what: unknown, where?: string) => string[];

function generalRule(keyword: string, rule: unknown, value: unknown, check: Check): string[] | null {
  const parts = rule as unknown[];
  switch (keyword) {
    case 'type':
      return [rule].flat().some((type) => isOfType(type as string, value))
        ? []
        : [`is no ${rule}: ${JSON.stringify(value)?.slice(0, 80)}`];
    case 'enum':
      return parts.includes(value) ? [] : [`${JSON.stringify(value)} is none of ${parts.join(', ')}`];
    case 'const':
      return rule === value ? [] : [`is not ${JSON.stringify(rule)}`];
    case 'allOf':
      return parts.flatMap((part) => check(part, value));
    case 'anyOf':
      return parts.some((part) => check(part, value).length === 0)
        ? []
        : [`holds none of: ${parts.map((part) => check(part, value)[0]).join(' | ')}`];
    case 'oneOf':
      return parts.filter((part) => check(part, value).length === 0).length === 1
        ? []
        : ['does not hold exactly one alternative'];
    case 'not':
      return check(rule, value).length > 0 ? [] : ['holds what it must not'];
    default:
      return null;
  }
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return isObject(value);
  return typeof value === type;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textRule(keyword: string, rule: unknown, value: unknown): string[] | null {
  if (!['minLength', 'maxLength', 'pattern'].includes(keyword)) return null;
  if (typeof value !== 'string') return [];
  const holds =
    keyword === 'pattern'
      ? new RegExp(rule as string, 'u').test(value)
      : keyword === 'minLength'
        ? value.length >= (rule as number)
        : value.length <= (rule as number);
  return holds ? [] : [`${keyword} ${rule}`];
}

function numberRule(keyword: string, rule: unknown, value: unknown): string[] | null {
  const rules: Record<string, (bound: number, number: number) => boolean> = {
    minimum: (bound, number) => number >= bound,
    maximum: (bound, number) => number <= bound,
    exclusiveMinimum: (bound, number) => number > bound,
    exclusiveMaximum: (bound, number) => number < bound,
  };
  const holds = rules[keyword];
  if (!holds) return null;
  return typeof value !== 'number' || holds(rule as number, value) ? [] : [`${keyword} ${rule}: ${value}`];
}

function objectRule(
  keyword: string,
  rule: unknown,
  value: unknown,
  schema: Json,
  at: string,
  check: Check,
): string[] | null {
  if (!['properties', 'required', 'additionalProperties', 'propertyNames'].includes(keyword)) return null;
  if (!isObject(value)) return [];
  const names = Object.keys(value);
  switch (keyword) {
    case 'properties':
      return Object.entries(rule as Json).flatMap(([name, part]) =>
        name in value ? check(part, value[name], `${at}.${name}`) : [],
      );
    case 'required':
      return (rule as string[]).filter((name) => !(name in value)).map((name) => `${at}.${name}: is missing`);
    case 'additionalProperties':
      return names
        .filter((name) => !(name in ((schema.properties as Json) ?? {})))
        .flatMap((name) => check(rule, value[name], `${at}.${name}`));
    default:
      return names.flatMap((name) => check(rule, name, `${at} (name ${name})`));
  }
}

function arrayRule(keyword: string, rule: unknown, value: unknown, at: string, check: Check): string[] | null {
  if (!['items', 'minItems', 'maxItems'].includes(keyword)) return null;
  if (!Array.isArray(value)) return [];
  if (keyword === 'items') return value.flatMap((item, index) => check(rule, item, `${at}[${index}]`));
  const holds = keyword === 'minItems' ? value.length >= (rule as number) : value.length <= (rule as number);
  return holds ? [] : [`${at}: ${keyword} ${rule}`];
}
