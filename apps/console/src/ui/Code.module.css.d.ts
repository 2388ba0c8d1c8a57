declare const styles: {
  readonly prompt: string
}
export default styles
