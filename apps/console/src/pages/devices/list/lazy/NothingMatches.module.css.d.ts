declare const styles: {
  readonly count: string
  readonly nothing: string
  readonly parts: string
  readonly title: string
}
export default styles
