/**
 * Screenshots for people to review, in `.state/screenshots`. They are taken only by `SCREENSHOTS=1 npm run test:browser`,
 * because no test looks at them.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';

const FOLDER = join(import.meta.dirname, '../../.state/screenshots');

const areWanted = () => Boolean(process.env.SCREENSHOTS);

/** A picture of a whole page, or of an element in one. */
export async function takePicture(of: Page | Locator, name: string): Promise<void> {
  if (areWanted()) await of.screenshot({ path: join(FOLDER, `${name}.png`), ...('goto' in of && { fullPage: true }) });
}

/** Removes the pictures of the previous run. */
export async function removePictures(): Promise<void> {
  if (areWanted()) await rm(FOLDER, { recursive: true, force: true });
}
