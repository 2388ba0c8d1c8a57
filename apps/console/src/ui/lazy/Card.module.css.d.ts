declare const styles: {
  readonly card: string
  readonly end: string
  readonly flush: string
  readonly foot: string
  readonly grid: string
  readonly id: string
  readonly low: string
  readonly many: string
  readonly small: string
  readonly title: string
}
export default styles
