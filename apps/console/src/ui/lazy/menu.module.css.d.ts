declare const styles: {
  readonly count: string
  readonly filter: string
  readonly head: string
  readonly item: string
  readonly line: string
  readonly menu: string
}
export default styles
