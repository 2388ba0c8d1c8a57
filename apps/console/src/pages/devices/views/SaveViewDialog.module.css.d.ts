declare const styles: {
  readonly kept: string
}
export default styles
