<%@ page session="false" trimDirectiveWhitespaces="true" contentType="text/plain; charset=UTF-8" %><%--
  Says on every path below it which context has been reached, and who by.
--%>reached <%= application.getContextPath() %> from <%= request.getRemoteAddr() %>
