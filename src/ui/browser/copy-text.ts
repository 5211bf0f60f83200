/**
 * Copies the text of an element, and returns whether it was copied. Without the permission to copy, the element is
 * selected, so that the reader can copy it with the keyboard.
 */
export async function copyText(text: string, shownIn: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shownIn);
    return false;
  }
}
