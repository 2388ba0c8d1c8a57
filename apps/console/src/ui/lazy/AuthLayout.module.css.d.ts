declare const styles: {
  readonly about: string
  readonly account: string
  readonly brand: string
  readonly content: string
  readonly instance: string
  readonly layout: string
  readonly lede: string
  readonly legal: string
  readonly line: string
  readonly text: string
  readonly ticks: string
}
export default styles
