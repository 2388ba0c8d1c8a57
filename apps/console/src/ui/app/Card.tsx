import type { ReactNode, Ref } from 'react'

type CardProps = {
  /** A link; its click area covers the card. */
  title: ReactNode
  badge?: ReactNode
  id: ReactNode
  children?: ReactNode
  ref?: Ref<HTMLLIElement>
}

/** An item in a grid of cards: name, id and a summary. */
export function Card({ title, badge, id, children, ref }: CardProps) {
  return (
    <li ref={ref} className="sheet card">
      <div className="ttl">
        {title}
        {badge}
      </div>
      <div className="id">{id}</div>
      {children}
    </li>
  )
}

/** Placeholder cards while the list loads. */
export function CardSkeletons() {
  return [1, 2, 3, 4, 5, 6].map(key => (
    <Card key={key} title={<span className="skel" />} id={<span className="skel" />} />
  ))
}

/** The last line of a card: states on the left, the total on the right. */
export function CardFoot({ children, end }: { children: ReactNode; end: ReactNode }) {
  return (
    <div className="foot">
      {children}
      <span className="end">{end}</span>
    </div>
  )
}
