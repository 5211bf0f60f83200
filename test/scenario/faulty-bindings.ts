/**
 * The service's bindings with faults: each operation on D1, KV or an object may throw, wait, or do its work and throw
 * then, as when the connection breaks before the answer. One may also wait for a promise of the test's own.
 */
import { createExecutionContext } from 'cloudflare:test';
import type { Env } from '../../src/env.ts';
import service from '../../src/index.ts';
import { Api } from '../support/api.ts';
import { bindings } from '../support/worker.ts';

export type Fault = 'throws' | 'waits' | 'commits and throws' | Promise<void>;
export type Binding =
  | 'DB'
  | 'DB_2'
  | 'KV'
  | 'ARCHIVE'
  | 'CUSTOMERS'
  | 'CALL_DIRECTORY'
  | 'PROJECTORS'
  | 'ORGANIZATION_WATCHES';

/** Returns the fault of the next operation on a binding; `null` for none. */
export type Faults = (binding: Binding, operation: string) => Fault | null;

const WAIT_MS = 25;

/** The runtime's mark on stubs of an object that was moved or restarted. */
class BrokenConnection extends Error {
  readonly retryable = true;
}

async function under<Result>(fault: Fault | null, operation: () => Promise<Result>): Promise<Result> {
  if (fault instanceof Promise) {
    await fault;
    return operation();
  }
  switch (fault) {
    case 'throws':
      throw new BrokenConnection('the connection broke before the request');
    case 'waits':
      await scheduler.wait(WAIT_MS);
      return operation();
    case 'commits and throws':
      await operation();
      throw new BrokenConnection('the connection broke before the answer');
    case null:
      return operation();
  }
}

export function faultyEnv(faults: Faults, env: Env = bindings): Env {
  const faultOf = (binding: Binding) => (operation: string) => faults(binding, operation);
  const namespaces = ['CUSTOMERS', 'CALL_DIRECTORY', 'PROJECTORS', 'ORGANIZATION_WATCHES'] as const;
  return {
    ...env,
    DB: faultyD1(env.DB, faultOf('DB')),
    ...(env.DB_2 && { DB_2: faultyD1(env.DB_2, faultOf('DB_2')) }),
    KV: faultyMethods(env.KV, faultOf('KV')),
    ...(env.ARCHIVE && { ARCHIVE: faultyMethods(env.ARCHIVE, faultOf('ARCHIVE')) }),
    ...Object.fromEntries(namespaces.map((name) => [name, faultyNamespace(env[name], faultOf(name))])),
  };
}

/** The service behind such bindings. */
export function faultyApi(faults: Faults, key: string): Api {
  const env = faultyEnv(faults);
  const send = (url: string, init: RequestInit) =>
    service.fetch(new Request(url, init) as never, env, createExecutionContext()) as unknown as Promise<Response>;
  return new Api(async (url, init) => send(url, init), 'https://callmeter.test', key);
}

type FaultOf = (operation: string) => Fault | null;

/** Every method of the target under faults. */
function faultyMethods<Target extends object>(target: Target, faultOf: FaultOf): Target {
  return new Proxy(target, {
    get(_, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      return (...args: unknown[]) =>
        under(faultOf(name), async () => (member as (...args: unknown[]) => unknown).apply(target, args));
    },
  });
}

/** Stubs under faults. Making ids and stubs sends no request, and does not fail. */
function faultyNamespace<Namespace extends object>(namespace: Namespace, faultOf: FaultOf): Namespace {
  return new Proxy(namespace, {
    get(_, name) {
      const member = Reflect.get(namespace, name) as unknown;
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const made = (member as (...args: unknown[]) => object).apply(namespace, args);
        return name === 'get' || name === 'getByName' ? faultyStub(made, faultOf) : made;
      };
    },
  });
}

function faultyStub<Stub extends object>(stub: Stub, faultOf: FaultOf): Stub {
  return new Proxy(stub, {
    get(_, name) {
      if (typeof name !== 'string' || name === 'id' || name === 'name' || name === 'then')
        return Reflect.get(stub, name);
      // A member of a stub is a remote method that must be called on the stub itself.
      return (...args: unknown[]) =>
        under(faultOf(name), async () => (stub as Record<string, (...args: unknown[]) => unknown>)[name]?.(...args));
    },
  });
}

const PLAIN = Symbol('the statement behind the faults');

function faultyD1(db: D1Database, faultOf: FaultOf): D1Database {
  const wrapped = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get(_, name) {
        if (name === PLAIN) return statement;
        const member = Reflect.get(statement, name) as unknown;
        if (typeof member !== 'function' || typeof name !== 'string') return member;
        const call = (...args: unknown[]) => (member as (...args: unknown[]) => unknown).apply(statement, args);
        if (name === 'bind') return (...args: unknown[]) => wrapped(call(...args) as D1PreparedStatement);
        return (...args: unknown[]) => under(faultOf(name), async () => call(...args));
      },
    });
  return {
    prepare: (sql: string) => wrapped(db.prepare(sql)),
    batch: (statements: (D1PreparedStatement & { [PLAIN]?: D1PreparedStatement })[]) =>
      under(faultOf('batch'), () => db.batch(statements.map((statement) => statement[PLAIN] ?? statement))),
    exec: (sql: string) => under(faultOf('exec'), () => db.exec(sql)),
  } as unknown as D1Database;
}
