/**
 * The console's only script. Every page works without it; it adds functions that HTML lacks. The functions below run
 * once for the page; `prepare` runs again for each region that replaces another.
 */
import { announcer } from './announcer.ts';
import { copyOnClick, showCopyButtons } from './copy.ts';
import { checkForms } from './forms.ts';
import { followPage } from './live.ts';
import { reachMarks } from './marks.ts';
import { openPalette } from './palette.ts';
import { prepareTips, showTips } from './tooltips.ts';

const preparations = [showCopyButtons, reachMarks, prepareTips];

const prepare = (part: ParentNode): void => {
  for (const preparation of preparations) preparation(part);
};

document.body.append(announcer);
checkForms();
copyOnClick();
followPage(prepare);
openPalette();
showTips();
prepare(document);
