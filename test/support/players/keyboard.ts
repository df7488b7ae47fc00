import type { Locator, Page } from 'playwright-core';

/** Far more than any screen has controls. */
const MAX_PRESSES = 120;

export const isFocused = (locator: Locator): Promise<boolean> =>
  locator.evaluate((element) => element === document.activeElement);

/** Presses Tab until the element has the focus. */
export const tabTo = async (page: Page, target: Locator, key = 'Tab'): Promise<void> => {
  await target.waitFor();
  for (let presses = 0; presses < MAX_PRESSES; presses++) {
    await page.keyboard.press(key);
    if (await isFocused(target)) return;
  }
  throw new Error(`${key} does not reach ${target}`);
};

/** Everything in the page that can be operated and that Tab does not reach. */
export const unreachable = async (page: Page): Promise<string[]> => {
  await page.evaluate(() => {
    const controls = 'a[href], button, input, select, textarea, summary, iframe, [tabindex]';
    for (const element of document.querySelectorAll<HTMLElement>(controls)) {
      const isOff = element.matches(':disabled') || element.tabIndex < 0;
      if (!isOff && element.checkVisibility({ visibilityProperty: true })) element.dataset.wanted = '';
    }
  });
  for (let presses = 0; presses < MAX_PRESSES; presses++) {
    await page.keyboard.press('Tab');
    const left = await page.evaluate(() => {
      delete (document.activeElement as HTMLElement).dataset.wanted;
      return document.querySelectorAll('[data-wanted]').length;
    });
    if (left === 0) return [];
  }
  return page.evaluate(() => [...document.querySelectorAll('[data-wanted]')].map(({ outerHTML }) => outerHTML));
};
