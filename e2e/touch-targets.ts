import type { Page } from 'playwright-core'

/** Minimum height, in pixels, in which a control takes touches. */
const TARGET_PX = 44

/**
 * Controls in view that take touches over a height of less than 44 px, each with this height and its neighbours. The height is measured
 * by hit tests above and below the middle of the control. Invisible areas around it therefore count, and parts that another control covers
 * do not. Each control is scrolled into view first if a menu that scrolls shows only a part of it. `within` is the selector of the measured parts of the page.
 */
export async function smallTouchTargets(page: Page, within = 'body'): Promise<string[]> {
  return page.evaluate<string[]>(`
    [...document.querySelectorAll('a[href], button, input, select, summary, [role=button]')].flatMap(control => {
      if (control.closest(${JSON.stringify(within)}) === null) return []
      const area = control.closest('label') ?? control
      control.closest('[role="menu"]') && area.scrollIntoView({ block: 'nearest' })
      const { left, top, width, height } = area.getBoundingClientRect()
      const [x, y] = [left + width / 2, top + height / 2]
      const leads = offset => {
        // Outside of the viewport there is no element.
        const hit = document.elementFromPoint(x, y + offset)
        return hit === null || area.contains(hit)
      }
      const isInView = x >= 0 && x < innerWidth && y >= 0 && y < innerHeight
      const isShown = control.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && width > 1
      // A control that takes no touches at its middle is covered, or is for the keyboard only.
      if (!isInView || !isShown || !leads(0)) return []
      let [above, below] = [0, 0]
      while (above < ${TARGET_PX} && leads(-above - 1)) above++
      while (below < ${TARGET_PX} && leads(below + 1)) below++
      // One pixel less is allowed, because the middle of a control may lie between two pixels.
      if (above + below + 2 >= ${TARGET_PX}) return []
      const name = element => element === null ? '' : element.tagName.toLowerCase() + '.' + element.className
      const ends = [-above - 1, below + 1].map(offset => name(document.elementFromPoint(x, y + offset)))
      const text = control.getAttribute('aria-label') ?? control.textContent
      return [name(control) + ' "' + text + '": ' + (above + below + 1) + ' between ' + ends.join(' and ')]
    })`)
}
