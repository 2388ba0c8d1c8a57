declare const styles: {
  readonly all: string
  readonly area: string
  readonly axis: string
  readonly cursor: string
  readonly fill: string
  readonly left: string
  readonly line: string
  readonly plot: string
  readonly point: string
  readonly tip: string
}
export default styles
