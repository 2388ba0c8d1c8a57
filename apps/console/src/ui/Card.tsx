import type { ReactNode, Ref } from 'react'

type CardProps = {
  /** A link; it covers the card. */
  title: ReactNode
  badge?: ReactNode
  id: ReactNode
  children?: ReactNode
  ref?: Ref<HTMLLIElement>
}

/** One thing in a grid of cards: name, id and what there is to know at a glance. */
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

/** The places of cards while their list loads. */
export function CardSkeletons() {
  return [1, 2, 3, 4, 5, 6].map(key => (
    <Card key={key} title={<span className="skel" />} id={<span className="skel" />} />
  ))
}

/** The last line of a card: states on the left, the sum on the right. */
export function CardFoot({ children, end }: { children: ReactNode; end: ReactNode }) {
  return (
    <div className="foot">
      {children}
      <span className="end">{end}</span>
    </div>
  )
}
