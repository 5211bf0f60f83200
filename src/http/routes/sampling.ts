/**
 * Sampling over HTTP: the policy, a decision, storing a sample.
 */
import type { Hono } from 'hono';
import { operations } from '../../contract/operations.ts';
import { SAMPLING_CACHE_SECONDS } from '../../contract/sampling.ts';
import { storeSample } from '../../metering/samples.ts';
import { decide, readSamplingSettings } from '../../metering/sampling.ts';
import { isMatching } from '../../platform/etag.ts';
import type { AppEnv } from '../middleware/context.ts';
import { getCaller, headerKey, mount } from './mount.ts';

export function mountSampling(app: Hono<AppEnv>): void {
  mount(app, operations.readSamplingSettings, async (c) => {
    const caller = getCaller(c);
    const etag = `"${caller.organization.sampling.version}"`;
    c.header('ETag', etag);
    c.header('Cache-Control', `private, max-age=${SAMPLING_CACHE_SECONDS}`);
    return isMatching(c.req.header('If-None-Match'), etag) ? c.body(null, 304) : readSamplingSettings(caller);
  });
  mount(app, operations.decideSampling, (c, { body }) => decide(getCaller(c), body));
  mount(app, operations.storeSample, (c, { body }) => storeSample(getCaller(c), body, headerKey(c)));
}
