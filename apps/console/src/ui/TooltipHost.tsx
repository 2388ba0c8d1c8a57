import { useEffect, useRef, useState } from 'react'
import styles from './TooltipHost.module.css'

type Shown = { text: string; target: HTMLElement; rect: DOMRect }

const DELAY_MS = 350
const EDGE = 8

/** Shows the `data-tip` of the hovered or keyboard-focused element. Mounted once per page. */
export function TooltipHost() {
  const [shown, setShown] = useState<Shown>()
  const ref = useRef<HTMLDivElement>(null)

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const hide = () => {
      clearTimeout(timer)
      setShown(undefined)
    }
    const show = (target: HTMLElement) => {
      const text = target.dataset.tip
      if (text && target.isConnected) setShown({ text, target, rect: target.getBoundingClientRect() })
    }
    const targetOf = (event: Event) =>
      event.target instanceof Element ? event.target.closest<HTMLElement>('[data-tip]') : null
    const onOver = (event: PointerEvent) => {
      const target = targetOf(event)
      clearTimeout(timer)
      if (!target || event.pointerType === 'touch') return setShown(undefined)
      timer = setTimeout(show, DELAY_MS, target)
    }
    const onFocus = (event: FocusEvent) => {
      const target = targetOf(event)
      if (target?.matches(':focus-visible')) show(target)
    }
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && hide()
    const options = { capture: true, passive: true }
    document.addEventListener('pointerover', onOver, options)
    document.addEventListener('pointerdown', hide, options)
    document.addEventListener('focusin', onFocus)
    document.addEventListener('focusout', hide)
    document.addEventListener('keydown', onKey)
    document.addEventListener('scroll', hide, options)
    return () => {
      hide()
      document.removeEventListener('pointerover', onOver, options)
      document.removeEventListener('pointerdown', hide, options)
      document.removeEventListener('focusin', onFocus)
      document.removeEventListener('focusout', hide)
      document.removeEventListener('keydown', onKey)
      document.removeEventListener('scroll', hide, options)
    }
  }, [])

  useEffect(() => {
    const tip = ref.current
    if (!shown || !tip) return
    // A popover is in the top layer and so shows above a modal dialog too.
    tip.showPopover()
    const { width, height } = tip.getBoundingClientRect()
    const { left, top, bottom } = shown.rect
    const x = Math.min(Math.max(EDGE, left), window.innerWidth - width - EDGE)
    const fitsBelow = bottom + 6 + height < window.innerHeight
    tip.style.left = `${x}px`
    tip.style.top = `${fitsBelow ? bottom + 6 : top - height - 6}px`
    // Screen readers would read a tooltip that equals the accessible name twice.
    if (shown.text === shown.target.getAttribute('aria-label')) return
    shown.target.setAttribute('aria-describedby', tip.id)
    return () => shown.target.removeAttribute('aria-describedby')
  }, [shown])

  if (!shown) return null
  return (
    <div ref={ref} id="tooltip" role="tooltip" popover="manual" className={styles.tip}>
      {shown.text}
    </div>
  )
}
