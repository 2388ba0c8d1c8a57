declare const styles: {
  readonly area: string
  readonly chart: string
  readonly detail: string
  readonly facts: string
  readonly figure: string
  readonly line: string
  readonly lines: string
  readonly plot: string
  readonly unread: string
  readonly way: string
}
export default styles
