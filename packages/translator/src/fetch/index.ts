export { answerChat, answerResponses, type AnswerOptions, type UpstreamCall } from './answer.js';
export { transformThrough } from '../streams/transform-through.js';
