declare const styles: {
  readonly count: string
  readonly notice: string
  readonly part: string
}
export default styles
