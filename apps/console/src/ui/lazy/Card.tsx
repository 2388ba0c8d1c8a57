import type { ReactNode, Ref } from 'react'
import styles from './Card.module.css'

type CardProps = {
  /** A link; its click area covers the card. */
  title: ReactNode
  badge?: ReactNode
  id: ReactNode
  /** Whether the content brings its own distance to the id. */
  isFlush?: boolean
  /** Whether the card is only as high as its content, beside higher ones. */
  isSmall?: boolean
  children?: ReactNode
  ref?: Ref<HTMLLIElement>
}

/** An item in a grid of cards: name, id and a summary. */
export function Card({ title, badge, id, isFlush = false, isSmall = false, children, ref }: CardProps) {
  return (
    <li
      ref={ref}
      className={`sheet ${styles.card} ${isFlush ? styles.flush : ''} ${isSmall ? styles.small : ''}`}
      data-card
    >
      <div className={styles.title}>
        {title}
        {badge}
      </div>
      <div className={`row ${styles.id}`}>{id}</div>
      {children}
    </li>
  )
}

/** Placeholder cards while the list loads. */
export function CardSkeletons() {
  return [1, 2, 3, 4, 5, 6].map(key => (
    <Card key={key} title={<span className="skeleton" />} id={<span className="skeleton" />} />
  ))
}

/** The last line of a card: states on the left, the total on the right. */
export function CardFoot({ children, end }: { children: ReactNode; end?: ReactNode }) {
  return (
    <div className={`touch-area wrap ${styles.foot}`}>
      {children}
      {end && <span className={styles.end}>{end}</span>}
    </div>
  )
}
