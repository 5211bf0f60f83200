/**
 * The service, with the messages to customers' objects counted, and the answer of one of them lost where that is asked
 * for. It is bundled and run on this machine alone, and nothing that is deployed has this entry point.
 */
import type { Env } from '../../src/env.ts';
import service from '../../src/index.ts';

export { CallDirectory, CompressionJob, Customer, GatewayBatch, PlanMigration } from '../../src/index.ts';

/** Messages since they were last asked for, by their method. */
let messages: Record<string, number> = {};
/**
 * The answer to the next message of several is lost: the object has done what it says, and whoever carries it hears
 * nothing.
 */
let loses = false;

type Methods = Record<string, (...given: unknown[]) => Promise<unknown>>;

function counted(namespace: Env['CUSTOMERS']): Env['CUSTOMERS'] {
  const getByName = (name: string) => {
    const stub = namespace.getByName(name) as unknown as Methods;
    return new Proxy(stub, {
      get:
        (_, method: string) =>
        (...given: unknown[]) => {
          messages[method] = (messages[method] ?? 0) + 1;
          const answer = stub[method]?.(...given);
          if (method !== 'runAll' || !loses) return answer;
          loses = false;
          return answer?.then(() => new Promise(() => undefined));
        },
    });
  };
  return new Proxy(namespace, {
    get: (target, name) => {
      if (name === 'getByName') return getByName;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export default {
  ...service,
  /** `GET /messages` says what was counted, `POST /lose` loses an answer. */
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/messages') {
      const said = Response.json(messages);
      messages = {};
      return said;
    }
    if (pathname === '/lose') {
      loses = true;
      return new Response(null, { status: 204 });
    }
    const counting = { ...env, CUSTOMERS: counted(env.CUSTOMERS) };
    return service.fetch(request as never, counting, context) as unknown as Promise<Response>;
  },
};
