declare const styles: {
  readonly area: string
  readonly axis: string
  readonly base: string
  readonly chart: string
  readonly compared: string
  readonly count: string
  readonly end: string
  readonly flag: string
  readonly frame: string
  readonly left: string
  readonly line: string
  readonly tag: string
}
export default styles
