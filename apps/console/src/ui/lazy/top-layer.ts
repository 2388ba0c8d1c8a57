import styles from './top-layer.module.css'

/** Properties of a positioner of the library. Its content is in the top layer, so no ancestor clips it. */
export const TOP_LAYER = {
  ref: (node: HTMLElement | null) => node?.showPopover(),
  popover: 'manual',
  className: styles.place!,
  positionMethod: 'fixed',
} as const
